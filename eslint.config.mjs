import js from "@eslint/js";
import globals from "globals";

export default [
  { ignores: ["build/", "node_modules/", "**/.wrangler/"] },
  js.configs.recommended,
  { files: ["**/*.mjs", "**/*.js"], languageOptions: { ecmaVersion: "latest", sourceType: "module" } },
  // Node scripts and tests, and modules that run on workerd.
  {
    files: ["**/*.mjs"],
    languageOptions: {
      globals: {
        ...globals.node,
        ...globals.serviceworker,
        scheduler: "readonly",
        FixedLengthStream: "readonly",
        IdentityTransformStream: "readonly",
      },
    },
  },
  // The web page.
  { files: ["dashboard/**/*.js"], languageOptions: { globals: globals.browser } },
];
