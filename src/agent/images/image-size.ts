import type { Image } from "../messages.ts";

/** In pixels. */
export interface ImageSize {
  width: number;
  height: number;
}

/** Base64 characters that are looked at: a JPEG may have a preview and its camera's notes before its size. */
const lookedAt = 400_000;

const known = new WeakMap<Image, { size: ImageSize | undefined }>();

/** What an image's header says of its size; undefined where it cannot be read. */
export function readImageSize(image: Image): ImageSize | undefined {
  const entry = known.get(image) ?? { size: parse(image) };
  known.set(image, entry);
  return entry.size;
}

function parse({ mediaType, data }: Image): ImageSize | undefined {
  const bytes = Buffer.from(data.slice(0, lookedAt), "base64");
  try {
    switch (mediaType) {
      case "image/png":
        return { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) };
      case "image/gif":
        return { width: bytes.readUInt16LE(6), height: bytes.readUInt16LE(8) };
      case "image/jpeg":
        return parseJpeg(bytes);
      case "image/webp":
        return parseWebp(bytes);
    }
  } catch (error) {
    // Cut or broken: its service may say more.
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

/** Walks over the segments to the one that begins a frame (SOF0 to SOF15, without the three of other meaning). */
function parseJpeg(bytes: Buffer): ImageSize | undefined {
  for (let at = 2; bytes[at] === 0xff; at += 2 + bytes.readUInt16BE(at + 2)) {
    const marker = bytes.readUInt8(at + 1);
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
    if (isFrame) return { height: bytes.readUInt16BE(at + 5), width: bytes.readUInt16BE(at + 7) };
  }
  return undefined;
}

/** Lossy (VP8), lossless (VP8L) and extended (VP8X) files each have their size in another place. */
function parseWebp(bytes: Buffer): ImageSize | undefined {
  switch (bytes.toString("latin1", 12, 16)) {
    case "VP8 ":
      return { width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff };
    case "VP8L": {
      const bits = bytes.readUInt32LE(21);
      return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 };
    }
    case "VP8X":
      return { width: bytes.readUIntLE(24, 3) + 1, height: bytes.readUIntLE(27, 3) + 1 };
    default:
      return undefined;
  }
}
