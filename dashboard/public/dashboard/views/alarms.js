// The current alarms, and what to do about each.
import { get, post } from "../api.js";
import { score } from "../charts.js";
import { ask } from "../dialog.js";
import { h } from "../dom.js";
import { duration, label, number, percent, t } from "../i18n.js";
import { actionButton, empty, muted, properties, since, stateBadge } from "../pieces.js";
import { to } from "../routes.js";

const amounts = { percent: (n) => percent(n / 100, 1), ms: duration, count: number };

/** The value of an alarm in its unit. */
export const amount = (n, unit) =>
  n === null || n === undefined ? "–" : (Object.hasOwn(amounts, unit) ? amounts[unit] : number)(n);

/** An alarm in one sentence. */
export const alarmLine = (alarm) =>
  t("alarm.line", label("alarm", alarm.name), amount(alarm.value, alarm.unit), amount(alarm.threshold, alarm.unit));

/** The link of an alarm, if it has one. */
const leads = {
  file_failures: () => h("a", { href: to("dead-letters", { queue: "seed" }) }, t("alarm.file_failures.link")),
  domain_failures: () => h("a", { href: to("domains", { state: "failed" }) }, t("alarm.domain_failures.link")),
  slow_domains: () => h("a", { href: to("domains", { sort: "duration" }) }, t("alarm.slow_domains.link")),
  dead_letters: () => h("a", { href: to("dead-letters") }, t("alarm.dead_letters.link")),
  frontier_behind: () => h("a", { href: to("frontier", { sort: "due" }) }, t("alarm.frontier_behind.link")),
  refresh_failures: () => h("a", { href: to("frontier") }, t("alarm.refresh_failures.link")),
};

/** Whether changes are posted and signed, and a button that tries it. */
const posting = ({ enabled, signed }, app) =>
  h(
    "div",
    { class: "toolbar", key: "webhook" },
    h("p", null, t(enabled ? (signed ? "alarms.webhook.signed" : "alarms.webhook.unsigned") : "alarms.webhook.none")),
    enabled &&
      h(
        "div",
        { class: "actions" },
        actionButton(t("alarms.try"), () => tryWebhook(app)),
      ),
  );

/** What the webhook does not take, and since when. */
const refusal = ({ since: first, attempts, waiting, error }) =>
  h(
    "div",
    { class: "banner bad", key: "refused" },
    h("p", null, t("alarms.webhook.refused", waiting, attempts, error), " ", since(first)),
  );

const tryWebhook = async (app) =>
  app.announce(
    await ask({
      title: t("alarms.try.title"),
      body: h("p", null, t("alarms.try.body")),
      confirm: t("alarms.try.do"),
      act: () => post("/api/v1/alarms/test", {}),
      done: () => t("alarms.try.done"),
    }),
  );

export default {
  title: () => t("nav.alarms"),

  load: ({ signal }) => get("/api/v1/seeds/status", {}, signal),

  render({ data: { alarms, alarm_webhook: webhook }, app }) {
    if (alarms.length === 0) return empty(t("alarms.none"));
    return [
      h("p", { class: "muted", key: "how" }, t("alarms.how")),
      webhook && posting(webhook, app), // missing in earlier versions of the engine
      webhook?.refused && refusal(webhook.refused),
      h(
        "div",
        { class: "grid halves" },
        alarms.map((alarm) =>
          h(
            "section",
            { class: "card", key: alarm.name, "aria-label": label("alarm", alarm.name) },
            h("h2", null, label("alarm", alarm.name), " ", stateBadge(alarm.state)),
            h(
              "p",
              { class: "large" },
              h("strong", null, amount(alarm.value, alarm.unit)),
              h("span", { class: "muted" }, ` / ${amount(alarm.threshold, alarm.unit)}`),
            ),
            alarm.value === null
              ? muted(t("alarm.few"))
              : score(alarm.value, alarm.threshold * 2, "", alarm.state === "firing" ? "bad" : "good"),
            h("p", null, label("alarm.about", alarm.name)),
            properties(
              [
                t("alarm.window"),
                alarm.window_minutes === null ? t("alarm.always") : duration(alarm.window_minutes * 60_000),
              ],
              alarm.since && [t("alarm.since"), since(alarm.since)],
            ),
            Object.hasOwn(leads, alarm.name) && h("p", null, leads[alarm.name]()),
          ),
        ),
      ),
    ];
  },

  news({ alarms }, before) {
    const changed = alarms.filter((alarm) =>
      before?.alarms.some((old) => old.name === alarm.name && old.state !== alarm.state),
    );
    return changed.map((alarm) => `${alarmLine(alarm)} ${label("state", alarm.state)}`).join(" ");
  },
};
