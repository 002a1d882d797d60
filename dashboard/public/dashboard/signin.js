// Asks for the operator's token.
import { ApiError, get, sendable, token } from "./api.js";
import { h } from "./dom.js";
import { t } from "./i18n.js";
import { failureText } from "./pieces.js";

/** Keeps the token if the route probe accepts it. Returns the error, or "". */
export async function tryToken(value, probe) {
  if (!sendable(value)) return t("signin.refused");
  token.set(value);
  try {
    await get(probe);
    return "";
  } catch (error) {
    token.clear();
    if (!(error instanceof ApiError)) throw error;
    return error.status === 401 ? t("signin.refused") : failureText(error);
  }
}

/** The form. failure is the error of the last attempt; submit(value) is called with the token. */
export function signIn({ failure, busy }, submit) {
  const submitted = (event) => {
    event.preventDefault();
    if (!busy) submit(new FormData(event.currentTarget).get("token").trim());
  };
  return h(
    "main",
    { id: "main", class: "signin", key: "signin" },
    h(
      "form",
      { class: "card", on: { submit: submitted } },
      h("h1", { tabindex: "-1" }, t("signin")),
      h("p", { class: "muted" }, t("signin.why")),
      h("label", { for: "token" }, t("signin.token")),
      h("input", {
        id: "token",
        name: "token",
        type: "password",
        required: true,
        autocomplete: "off",
        spellcheck: "false",
        "aria-describedby": "token-failure token-kept",
        "aria-invalid": failure ? "true" : null,
      }),
      h("p", { id: "token-failure", class: "failure", role: "alert" }, failure),
      h(
        "button",
        { type: "submit", class: "primary", "aria-disabled": busy ? "true" : null },
        busy ? t("dialog.working") : t("signin.do"),
      ),
      h("p", { id: "token-kept", class: "muted small" }, t("signin.kept")),
    ),
  );
}
