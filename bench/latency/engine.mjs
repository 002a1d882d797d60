import engine from "../../build/worker/entry.mjs";
import { slowWorker } from "./slow.mjs";
export { Frontier } from "../../build/worker/entry.mjs";

export default slowWorker(engine);
