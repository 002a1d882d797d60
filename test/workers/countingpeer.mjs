// The peer of the benchmarks, counted.
import { countedWorker } from "./counter.mjs";
import peer from "../../bench/pipeline/peer.mjs";

export default countedWorker(peer);
