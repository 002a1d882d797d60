// The engine, counted.
import { countedShards, countedWorker } from "./counter.mjs";
import engine, { Frontier as Shard } from "../../build/worker/entry.mjs";

export const Frontier = countedShards(Shard);
export default countedWorker(engine);
