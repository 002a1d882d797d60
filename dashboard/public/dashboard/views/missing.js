// The view for unknown addresses.
import { h } from "../dom.js";
import { t } from "../i18n.js";
import { empty } from "../pieces.js";
import { to } from "../routes.js";

export default {
  title: () => t("missing"),
  render: () => empty(t("missing.body"), h("p", null, h("a", { href: to("overview") }, t("nav.overview")))),
};
