// Starts the dashboard of the Info service's collector.
import { App } from "../app.js";
import { applyTheme } from "../preferences.js";
import { collector } from "../sites.js";
import missing from "../views/missing.js";
import sources from "../views/sources.js";

applyTheme();
new App(document.getElementById("app"), { overview: sources }, missing, collector).start();
