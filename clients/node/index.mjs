export { Frontier } from "./src/frontier.mjs";
export { Engine, EngineError } from "./src/engine.mjs";
export { readPage } from "./src/html.mjs";
export { lookupPublic, refusePrivate } from "./src/http.mjs";
