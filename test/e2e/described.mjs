// Answers of the engine compared with contract/openapi.json: what they have must stand there, and what is required must
// be there. Types, formats and limits are tested natively, with every handler.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";

const description = JSON.parse(readFileSync(new URL("../../contract/openapi.json", import.meta.url)));

/** Throws where a JSON answer to a request has other fields than its description. */
export function assertDescribed(method, path, status, answer) {
  const operation = operationOf(method, path);
  if (!operation) return assert.ok(status >= 400, `${method} ${path} is not described and answers ${status}`);
  const response = resolve(operation.responses[status] ?? {});
  const schema = response.content?.["application/json"]?.schema;
  assert.ok(schema, `${method} ${path}: the answer ${status} is not described`);
  const faults = faultsOf(answer, schema, "");
  assert.deepEqual(faults, [], `${method} ${path} answers ${status}`);
}

/** The operation of the path with the fewest parameters that matches. */
function operationOf(method, path) {
  const parts = path.split("?")[0].split("/");
  const matches = Object.keys(description.paths).filter((template) => {
    const wanted = template.split("/");
    return wanted.length === parts.length && wanted.every((part, i) => part === parts[i] || part.startsWith("{"));
  });
  const parameters = (template) => template.split("{").length;
  const [best] = matches.sort((a, b) => parameters(a) - parameters(b));
  return description.paths[best]?.[method.toLowerCase()];
}

function resolve(node) {
  if (!node.$ref) return node;
  return node.$ref
    .slice(2)
    .split("/")
    .reduce((at, name) => at[name], description);
}

function faultsOf(value, schema, at) {
  const { anyOf, oneOf, properties = {}, required = [], additionalProperties: others = true, items } = resolve(schema);
  const choices = anyOf ?? oneOf;
  if (choices) {
    const found = choices.filter((one) => fits(value, one)).map((one) => faultsOf(value, one, at));
    return found.find((faults) => faults.length === 0) ?? found[0] ?? [`${at} is of no kind that is described`];
  }
  if (Array.isArray(value)) return items ? value.flatMap((one) => faultsOf(one, items, `${at}[]`)) : [];
  if (value === null || typeof value !== "object") return [];
  const missing = required.filter((name) => !(name in value)).map((name) => `${at}.${name} is missing`);
  const wrong = Object.entries(value).flatMap(([name, field]) => {
    const known = Object.hasOwn(properties, name) ? properties[name] : others;
    if (known === false) return [`${at}.${name} is not described`];
    return known === true ? [] : faultsOf(field, known, `${at}.${name}`);
  });
  return [...new Set([...missing, ...wrong])];
}

/** Whether a value is of a schema's type, as far as choices go: null, an object, a list, or something else. */
function fits(value, schema) {
  const kind = value === null ? "null" : Array.isArray(value) ? "array" : typeof value;
  const { type, anyOf, oneOf, const: constant } = resolve(schema);
  if (constant !== undefined) return value === constant;
  if (anyOf ?? oneOf) return (anyOf ?? oneOf).some((one) => fits(value, one));
  const types = [type ?? kind].flat().map((one) => (one === "integer" ? "number" : one));
  return types.includes(kind);
}
