// Suggests names for a mistyped one.

/** Returns likely names, best first: those that start with the text, contain it, or differ in a few letters. */
export function nearest(text, names, most = 5) {
  const wanted = text.toLowerCase().replace(/^www\./, "");
  if (wanted.length < 2) return [];
  return names
    .map((name) => ({ name, distance: distanceOf(wanted, name) }))
    .filter(({ distance }) => distance <= 1 + wanted.length / 4)
    .sort((a, b) => a.distance - b.distance || (a.name < b.name ? -1 : 1))
    .slice(0, most)
    .map(({ name }) => name);
}

function distanceOf(text, name) {
  if (name.startsWith(text)) return 0;
  if (name.includes(text)) return 0.5;
  return Math.min(edits(text, name), edits(text, name.split(".")[0]));
}

/** The Levenshtein distance of a and b. */
function edits(a, b) {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 0; i < a.length; i++) {
    const next = [i + 1];
    for (let j = 0; j < b.length; j++) next.push(a[i] === b[j] ? row[j] : 1 + Math.min(row[j], row[j + 1], next[j]));
    row = next;
  }
  return row[b.length];
}
