import { expect, test } from "vitest";
import { readImageSize } from "../../../src/agent/images/image-size.ts";
import type { Image } from "../../../src/agent/messages.ts";

const bytes = (...parts: (string | number[])[]): string =>
  Buffer.concat(
    parts.map((part) => (typeof part === "string" ? Buffer.from(part, "latin1") : Buffer.from(part))),
  ).toString("base64");

const riff = (kind: string) => `RIFF....WEBP${kind}....`;

test.each<[string, Image["mediaType"], string]>([
  ["PNG", "image/png", bytes("\x89PNG\r\n\x1a\n....IHDR", [0, 0, 1, 44], [0, 0, 0, 200])],
  ["GIF", "image/gif", bytes("GIF89a", [44, 1], [200, 0])],
  [
    "JPEG with other segments before its frame",
    "image/jpeg",
    bytes([0xff, 0xd8, 0xff, 0xe1, 0, 4, 1, 2, 0xff, 0xc4, 0, 3, 9, 0xff, 0xc2, 0, 11, 8, 0, 200, 1, 44, 3]),
  ],
  ["lossy WebP", "image/webp", bytes(riff("VP8 "), [0, 0, 0, 0x9d, 1, 0x2a], [44, 1], [200, 0])],
  ["lossless WebP", "image/webp", bytes(riff("VP8L"), [0x2f, 0x2b, 0xc1, 0x31, 0])],
  ["extended WebP", "image/webp", bytes(riff("VP8X"), [0, 0, 0, 0], [43, 1, 0], [199, 0, 0])],
])("The size of a %s is read from its header", (_, mediaType, data) => {
  expect(readImageSize({ mediaType, data })).toEqual({ width: 300, height: 200 });
});

test.each<Image["mediaType"]>(["image/png", "image/gif", "image/jpeg", "image/webp"])(
  "A %s that is cut or broken has none",
  (mediaType) => {
    expect(readImageSize({ mediaType, data: "" })).toBeUndefined();
    expect(readImageSize({ mediaType, data: bytes("\xff\xd8\xff\xe0\x00") })).toBeUndefined();
  },
);
