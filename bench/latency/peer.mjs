import peer from "../pipeline/peer.mjs";
import { slowWorker } from "./slow.mjs";

export default slowWorker(peer);
