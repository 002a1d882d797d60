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
  // The web pages. State belongs to objects: a module's own cannot be seen, and cannot be had twice.
  {
    files: ["dashboard/**/*.js", "info/api/public/**/*.js"],
    languageOptions: { globals: globals.browser },
    rules: {
      "no-restricted-syntax": [
        "error",
        {
          selector: "Program > VariableDeclaration[kind!='const'], Program > * > VariableDeclaration[kind!='const']",
          message: "Module-level state: put it into an object, and hand that to those that need it.",
        },
      ],
    },
  },
];
