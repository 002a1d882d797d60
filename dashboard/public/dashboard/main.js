// Starts the dashboard.
import { App } from "./app.js";
import { applyTheme } from "./preferences.js";
import { engine } from "./sites.js";
import alarms from "./views/alarms.js";
import deadLetter from "./views/deadletter.js";
import deadLetters from "./views/deadletters.js";
import domain from "./views/domain.js";
import domains from "./views/domains.js";
import exclusions from "./views/exclusions.js";
import frontier from "./views/frontier.js";
import missing from "./views/missing.js";
import overview from "./views/overview.js";

const views = {
  overview,
  domains,
  domain,
  frontier,
  "dead-letters": deadLetters,
  "dead-letter": deadLetter,
  alarms,
  exclusions,
};

applyTheme();
new App(document.getElementById("app"), views, missing, engine).start();
