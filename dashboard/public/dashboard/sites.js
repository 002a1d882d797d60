// The services that the dashboard operates: the engine, and the collector of the Info service, which serves the same files.
// Each calls only its own origin, so no token leaves its origin.
import { get } from "./api.js";

/**
 * name is the text key of its name; views are the views in the navigation; probe is a route that checks the token;
 * uploads is true if it takes raw files; read(signal) returns the frame's data, {status, pipeline}; elsewhere is the page of
 * another service that may serve these files.
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
