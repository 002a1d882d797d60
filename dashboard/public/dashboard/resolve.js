// Replaying and discarding dead letters.
import { post } from "./api.js";
import { ask } from "./dialog.js";
import { h } from "./dom.js";
import { t } from "./i18n.js";
import { foreign } from "./pieces.js";

/**
 * Asks, then replays or discards (action) the dead letters in choice: {ids}, {filter} or {all}. count is
 * their number, undefined if unknown; words describe them.
 */
export async function resolve(app, action, choice, count, words) {
  app.announce(
    await ask({
      title: count === undefined ? t(`${action}.matching`) : t(`${action}.many`, count),
      body: [words, h("p", { class: "muted" }, t(`${action}.body`))],
      confirm: t(action),
      danger: action === "discard",
      act: (_, report, signal) => all(action, choice, report, signal),
      done: (sum) => (sum.failed.length ? outcome(action, sum) : summary(action, sum)),
    }),
  );
  app.refresh();
}

/** Each call handles a part. More calls follow until nothing is left or a call makes no progress. */
async function all(action, choice, report, signal) {
  const sum = { done: 0, skipped: 0, failed: [], remaining: 0 };
  let total; // number of dead letters at the start: those that fail again meanwhile are not retried
  for (;;) {
    const answer = await post(`/api/v1/dlq/${action}`, choice);
    total ??= answer.done + answer.remaining;
    sum.done += answer.done;
    sum.skipped += answer.skipped;
    // Failed ones still match, and would fail again in the next call.
    sum.failed.push(...answer.failed.filter(({ id }) => !sum.failed.some((one) => one.id === id)));
    sum.remaining = choice.ids ? 0 : Math.max(0, answer.remaining - sum.failed.length);
    report(t("resolve.progress", sum.done, Math.max(total, sum.done)));
    if (choice.ids || answer.remaining === 0 || answer.done === 0 || sum.done >= total || signal.aborted) return sum;
  }
}

const summary = (action, sum) =>
  [
    t(`${action}.done`, sum.done),
    sum.skipped && t("resolve.skipped", sum.skipped),
    sum.remaining && t("resolve.remaining", sum.remaining),
  ]
    .filter(Boolean)
    .join(" ");

const outcome = (action, sum) => [
  h("p", null, summary(action, sum)),
  h("p", null, t("resolve.failed", sum.failed.length)),
  h(
    "ul",
    null,
    sum.failed.slice(0, 20).map((one) => h("li", null, h("code", null, foreign(one.id)), " ", foreign(one.message))),
  ),
];
