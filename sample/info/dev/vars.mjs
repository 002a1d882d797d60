// What wrangler does not read of a .dev.vars file.

/** Returns the lines that are dropped in silence: those outside quotes that name no variable. */
export function lostLines(text) {
  const lost = [];
  let quote = ""; // of a value that goes on
  for (const line of text.split("\n")) {
    if (quote) {
      if (line.includes(quote)) quote = "";
      continue;
    }
    const variable = /^\s*(?:export\s+)?[\w.-]+(?:\s*=|:\s)\s*(?<value>.*)$/.exec(line);
    if (!variable) {
      if (line.trim() && !line.trim().startsWith("#")) lost.push(line.trim());
      continue;
    }
    const { value } = variable.groups;
    if (/^["'`]/.test(value) && !value.slice(1).includes(value[0])) quote = value[0];
  }
  return lost;
}
