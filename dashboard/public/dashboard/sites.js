// What the dashboard operates: the engine, or the collector of the Info service, which serves the same files. Each asks its
// own origin alone, so that no token leaves the origin that it is for.
import { get } from "./api.js";

/**
 * name is the key of its name; views are those of the navigation, in its order; probe is a route that takes the token;
 * uploads: whether it takes raw files; read(signal) gives what the frame shows around every view: {status, pipeline}; elsewhere is the page of another service
 * that may serve these files.
 */
export const engine = {
  name: "product",
  views: ["overview", "domains", "frontier", "dead-letters", "alarms", "exclusions"],
  uploads: true,
  probe: "/api/v1/pipeline",
  elsewhere: { name: "newsfork-info-collector", page: "info/" },

  /** The status of the whole engine, and of the pipeline while it is paused. */
  async read(signal) {
    const status = await get("/api/v1/seeds/status", {}, signal);
    const pipeline = status.paused ? await get("/api/v1/pipeline", {}, signal).catch(() => null) : null;
    return { status, pipeline };
  },
};

export const collector = {
  name: "info",
  views: ["overview"],
  probe: "/api/v1/info/status",
  read: async () => ({ status: null, pipeline: null }),
};
