// Language and theme: the browser's, unless the operator chose. Choices are stored in
// localStorage, or kept for this visit if the browser forbids that.

const LANGUAGE = "seed-engine-language";
const THEME = "seed-engine-theme";

const visit = new Map();

function load(key) {
  try {
    return localStorage.getItem(key) ?? visit.get(key);
  } catch {
    return visit.get(key);
  }
}

function save(key, value) {
  visit.set(key, value);
  try {
    localStorage.setItem(key, value);
  } catch {
    // kept for this visit
  }
}

export const languages = { en: "English", ko: "한국어" };

export function language() {
  const chosen = load(LANGUAGE);
  if (Object.hasOwn(languages, chosen ?? "")) return chosen;
  return (
    navigator.languages.map((tag) => tag.slice(0, 2).toLowerCase()).find((tag) => Object.hasOwn(languages, tag)) ?? "en"
  );
}

export const chooseLanguage = (name) => save(LANGUAGE, name);

export const themes = ["auto", "light", "dark"];

export const theme = () => (themes.includes(load(THEME)) ? load(THEME) : "auto");

export function chooseTheme(name) {
  save(THEME, name);
  applyTheme();
}

/** style.css follows data-theme; without it, the system. */
export function applyTheme() {
  if (theme() === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme();
}
