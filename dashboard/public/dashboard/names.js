// International names and paths as people read them: 한국뉴스.kr for xn--…, /정책 for /%EC%A0%95….

const BASE = 36;

/** The letters of a label's Punycode (RFC 3492), or null if it is none. */
function decode(code) {
  const cut = code.lastIndexOf("-");
  const points = cut > 0 ? [...code.slice(0, cut)].map((letter) => letter.codePointAt(0)) : [];
  let [n, bias, i] = [128, 72, 0];
  for (let at = cut > 0 ? cut + 1 : 0; at < code.length; i++) {
    const before = i;
    for (let weight = 1, k = BASE; ; k += BASE) {
      const digit = at < code.length ? "abcdefghijklmnopqrstuvwxyz0123456789".indexOf(code[at++]) : -1;
      i += digit * weight;
      if (digit < 0 || i > 2 ** 31) return null;
      const threshold = Math.min(Math.max(k - bias, 1), 26);
      if (digit < threshold) break;
      weight *= BASE - threshold;
    }
    const length = points.length + 1;
    let delta = before === 0 ? Math.floor((i - before) / 700) : (i - before) >> 1;
    delta += Math.floor(delta / length);
    let steps = 0;
    for (; delta > 455; steps += BASE) delta = Math.floor(delta / (BASE - 1));
    bias = steps + Math.floor((BASE * delta) / (delta + 38));
    n += Math.floor(i / length);
    i %= length;
    if (n > 0x10ffff) return null;
    points.splice(i, 0, n);
  }
  return String.fromCodePoint(...points);
}

/** A host with its international labels decoded. It stays as it is unless the browser reads the result as the same host. */
export function readableHost(host) {
  if (!/(^|\.)xn--/.test(host)) return host;
  const labels = host.split(".").map((label) => (label.startsWith("xn--") ? decode(label.slice(4)) : label));
  if (labels.includes(null)) return host;
  const name = labels.join(".");
  return URL.canParse(`https://${name}`) && new URL(`https://${name}`).host === host ? name : host;
}

/** A URL with its host and the letters of its path and query decoded. Other escaped characters stay. */
export const readableURL = (url) =>
  url
    .replace(/^(https?:\/\/)([^/?#]+)/, (_, scheme, host) => scheme + readableHost(host))
    .replace(/(%[89a-f][0-9a-f])+/gi, (escaped) => {
      try {
        const text = decodeURIComponent(escaped);
        return /^[\p{L}\p{M}\p{N}]+$/u.test(text) ? text : escaped;
      } catch {
        return escaped;
      }
    });
