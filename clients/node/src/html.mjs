// What an HTML page says about itself, in one pass.
import { Parser } from "htmlparser2";

const MAX_LINKS = 200; // reported of one page
const MAX_URL = 2083; // bytes
const MAX_TITLE = 200; // characters
const MAX_HEADINGS = 20;
const MAX_TEXT = 600; // characters that are reported
const MAX_DEPTH = 512; // of nested boilerplate
const BOILERPLATE = new Set(["script", "style", "nav", "header", "footer", "aside", "iframe", "noscript", "template"]);
const PUBLISHED = /^(article:published_time|datepublished|date|pubdate|publishdate|dc\.date|dcterms\.created)$/i;
const MODIFIED = /^(article:modified_time|datemodified|last-modified|og:updated_time|dcterms\.modified)$/i;
const DOCUMENT = /\.(pdf|docx?|xlsx?|pptx?|hwpx?|csv|zip)$/i;

/**
 * Reads a page. Its text is what remains without menus and advertisements; links are those to http and https, each
 * once; evidence is the `page` of a report.
 */
export function readPage(html, url) {
  const page = { title: "", h1: "", headings: [], lang: "", canonical: "", noindex: false, forms: 0, documents: 0 };
  const dates = {};
  const words = []; // pieces of the text, with a space for each tag
  const links = new Map();
  let base = url;
  let skipped = 0; // open elements of boilerplate
  let link; // that is open
  let heading; // that is open
  let inTitle = false;
  const parser = new Parser({
    onopentag(name, attributes) {
      words.push(" ");
      if (BOILERPLATE.has(name) && skipped < MAX_DEPTH) skipped++;
      if (name === "html") page.lang = attributes.lang ?? "";
      else if (name === "title") inTitle = !page.title && !skipped;
      else if (name === "base" && attributes.href) base = resolve(attributes.href, url)?.href ?? url;
      else if (name === "link" && /\bcanonical\b/i.test(attributes.rel))
        page.canonical = resolve(attributes.href, base)?.href ?? "";
      else if (name === "meta") readMeta(attributes);
      else if (name === "form") page.forms++;
      else if (/^h[1-3]$/.test(name)) heading = { name, text: "" };
      else if (name === "a" || name === "area") open(attributes);
      else if (name === "img" && link && !link.text) link.text = attributes.alt ?? "";
    },
    ontext(text) {
      if (inTitle) page.title += text;
      else {
        if (link && link.text.length < MAX_TITLE) link.text += text;
        if (heading) heading.text += text;
        if (!skipped) words.push(text);
      }
    },
    onclosetag(name) {
      words.push(" ");
      if (BOILERPLATE.has(name) && skipped > 0) skipped--;
      if (name === "title") inTitle = false;
      else if (name === "a") close();
      else if (name === heading?.name) endHeading();
    },
  });

  function readMeta({ name, property, itemprop, content = "" }) {
    const key = name ?? property ?? itemprop ?? "";
    if (PUBLISHED.test(key)) dates.published ??= content;
    else if (MODIFIED.test(key)) dates.modified ??= content;
    else if (/^robots$/i.test(key)) page.noindex ||= /\bnoindex\b/i.test(content);
  }

  function open({ href, title }) {
    close();
    const target = href === undefined ? undefined : resolve(href, base);
    if (!target || !/^https?:$/.test(target.protocol) || Buffer.byteLength(target.href) > MAX_URL) return;
    if (DOCUMENT.test(target.pathname)) page.documents++;
    link = { url: target.href, text: "", title: title ?? "" };
  }

  function close() {
    if (!link) return;
    const title = line(link.text) || line(link.title);
    if (links.size < MAX_LINKS || links.has(link.url)) links.set(link.url, links.get(link.url) || title);
    link = undefined;
  }

  function endHeading() {
    const text = line(heading.text);
    if (heading.name === "h1") page.h1 ||= text;
    else if (text && page.headings.length < MAX_HEADINGS) page.headings.push(text);
    heading = undefined;
  }

  parser.write(html);
  parser.end();
  close();
  const text = words.join("").replace(/\s+/g, " ").trim();
  const evidence = { ...page, title: line(page.title), ...validDates(dates), links: links.size };
  Object.assign(evidence, { text: text.slice(0, MAX_TEXT), words: text ? text.split(" ").length : 0 });
  return { text, evidence, links: Array.from(links, ([url, title]) => (title ? { url, title } : { url })) };
}

function line(text) {
  return text.replace(/\s+/g, " ").trim().slice(0, MAX_TITLE);
}

function resolve(href, base) {
  return href !== undefined && URL.canParse(href, base) ? new URL(href, base) : undefined;
}

/** Dates that can be read, as the engine takes them. */
function validDates(dates) {
  const read = Object.entries(dates).map(([name, text]) => [name, new Date(text)]);
  const valid = read.filter(([, date]) => !Number.isNaN(date.getTime()) && Math.abs(date.getTime()) < 4e12);
  return Object.fromEntries(valid.map(([name, date]) => [name, date.toISOString()]));
}

/** The text of an answer, in the charset of its header, its byte order mark or its beginning; else in UTF-8. */
export function decode(body, contentType = "") {
  const head = body.subarray(0, 2048).toString("latin1");
  const mark =
    body[0] === 0xff && body[1] === 0xfe ? "utf-16le" : body[0] === 0xfe && body[1] === 0xff ? "utf-16be" : "";
  const charset =
    mark ||
    /charset\s*=\s*["']?([\w.:-]+)/i.exec(contentType)?.[1] ||
    /<meta[^>]+charset\s*=\s*["']?([\w.:-]+)/i.exec(head)?.[1];
  try {
    return new TextDecoder(charset || "utf-8").decode(body);
  } catch {
    return new TextDecoder().decode(body); // nobody knows that charset
  }
}
