// Confirmation dialogs. A native modal dialog keeps the focus inside, closes with Escape
// and returns the focus to the element that opened it.
import { h, patch } from "./dom.js";
import { t } from "./i18n.js";
import { failureText } from "./pieces.js";

/**
 * Asks for confirmation, then acts. body says what will happen; fields are descriptions of
 * form controls whose values are passed to act. act(values, report, signal) may call report(text, share) with its progress,
 * share from 0 to 1 if known, and should stop when signal is aborted. done(result) describes the result: a text closes the dialog
 * and is returned; a list of descriptions stays until the operator closes it or takes the next step that next(result) offers: {confirm,
 * act}, or null. An exception is shown, and the operator can retry. Returns null if nothing was done.
 */
export function ask({ title, body, fields = [], danger = false, done, next = () => null, ...first }) {
  const dialog = document.createElement("dialog");
  dialog.setAttribute("aria-labelledby", "dialog-title");
  const state = { busy: false, report: "", share: null, failure: "", outcome: null, step: first };
  let stop = null;
  let result = null;

  const submit = async (event) => {
    event.preventDefault();
    if (state.busy) return;
    const values = Object.fromEntries(new FormData(event.currentTarget));
    stop = new AbortController();
    Object.assign(state, { busy: true, report: t("dialog.working"), failure: "" });
    draw();
    try {
      const answer = await state.step.act(values, report, stop.signal);
      result = done(answer);
      if (typeof result === "string") return dialog.close();
      Object.assign(state, { outcome: result, step: next(answer) });
    } catch (error) {
      state.failure = stop.signal.aborted ? "" : failureText(error);
    }
    Object.assign(state, { busy: false, report: "", share: null });
    draw();
  };

  const report = (text, share = null) => {
    Object.assign(state, { report: text, share });
    draw();
  };

  const cancel = () => (state.busy ? stop.abort() : dialog.close());

  function draw() {
    const { report, share, failure, outcome } = state;
    patch(dialog, [
      h(
        "form",
        { on: { submit } },
        h("h2", { id: "dialog-title" }, title),
        outcome ? h("div", { key: "outcome" }, outcome) : h("div", { key: "body" }, body, fields),
        h("p", { role: "status", class: "muted" }, report),
        share !== null && h("progress", { key: "share", max: "1", value: share, "aria-label": title }),
        h("p", { role: "alert", class: "failure" }, failure),
        buttons(state, { danger, focused: fields.length === 0, cancel }),
      ),
    ]);
  }

  draw();
  document.body.append(dialog);
  dialog.addEventListener("cancel", (event) => {
    if (!state.busy) return;
    event.preventDefault();
    stop.abort();
  });
  dialog.showModal();
  return new Promise((resolve) =>
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(typeof result === "string" ? result : null);
    }),
  );
}

/** The buttons of a dialog. The harmless one gets the focus. */
const buttons = ({ busy, outcome, step }, { danger, focused, cancel }) =>
  h(
    "div",
    { class: "actions" },
    h(
      "button",
      { type: "button", autofocus: danger && focused, on: { click: cancel } },
      busy ? t("dialog.stop") : outcome ? t("dialog.close") : t("dialog.cancel"),
    ),
    step &&
      h(
        "button",
        {
          type: "submit",
          class: danger ? "danger" : "primary",
          "aria-disabled": busy ? "true" : null,
          autofocus: !danger && focused,
        },
        step.confirm,
      ),
  );

export const reasonField = () =>
  h(
    "div",
    { class: "field" },
    h("label", { for: "dialog-reason" }, t("dialog.reason")),
    h("input", { id: "dialog-reason", name: "reason", maxlength: "500", autocomplete: "off", autofocus: true }),
  );
