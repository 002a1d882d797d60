// Names of countries: the API uses two-letter codes.
import { language } from "./preferences.js";

/** Common names that the browser's table lacks. */
const others = { uk: "gb", usa: "us", korea: "kr", 한국: "kr", czechrepublic: "cz" };

const LETTERS = [..."ABCDEFGHIJKLMNOPQRSTUVWXYZ"];
const plain = (text) =>
  text
    .normalize("NFKD")
    .replaceAll(/[^\p{L}]/gu, "")
    .normalize("NFC")
    .toLowerCase();

/** The code of a country, from its code or its name in English or the operator's language; "" if unknown. */
export function countryCode(text) {
  const wanted = plain(text);
  if (Object.hasOwn(others, wanted)) return others[wanted];
  if (/^[a-z]{2}$/.test(wanted)) return wanted;
  for (const tag of [language(), "en"]) {
    const names = new Intl.DisplayNames(tag, { type: "region", fallback: "none" });
    for (const a of LETTERS)
      for (const b of LETTERS)
        if (plain(names.of(a + b) ?? "") === wanted && wanted)
          return new Intl.Locale(`und-${a}${b}`).region.toLowerCase();
  }
  return "";
}

/** The name of a country. */
export const countryName = (code) => new Intl.DisplayNames(language(), { type: "region" }).of(code.toUpperCase());
