import { extname } from "node:path/posix";
import { removeHidden } from "../agent/text/hidden-characters.ts";

/** Well below the limit of file systems, so that a number still fits behind it. */
const maxBytes = 150;

/** Makes a file's name safe: one path component, no control characters, not hidden. */
export function sanitizeFileName(name: string): string {
  const plain = removeHidden(name, "_")
    .normalize("NFC")
    .replaceAll(/[\n\t/\\:]+/g, "_")
    .replace(/^[.\s]+/, "")
    .trim();
  return shorten(plain) || "file";
}

/** `report.pdf`, `report-2.pdf`, `report-3.pdf`, `report-1f0c9a.pdf`: the first has the number 1. */
export function numberName(name: string, number: string): string {
  if (number === "1") return name;
  const extension = extname(name);
  return `${name.slice(0, name.length - extension.length)}-${number}${extension}`;
}

function shorten(name: string): string {
  if (Buffer.byteLength(name) <= maxBytes) return name;
  const extension = Buffer.byteLength(extname(name)) <= 20 ? extname(name) : "";
  let stem = name.slice(0, name.length - extension.length);
  while (Buffer.byteLength(stem) > maxBytes - Buffer.byteLength(extension)) stem = stem.slice(0, -1);
  return `${stem.toWellFormed().replaceAll("\uFFFD", "")}${extension}`;
}
