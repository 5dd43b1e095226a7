/** Where a value stands in an event, as operators write it: `@event` for its kind, else names and positions in its body. */
const place = String.raw`@event|[\w-]+(?:\.[\w-]+|\[\d+\])*`;

/** A whole text that is such a place. */
export const eventPlace = new RegExp(`^(?:${place})$`);

const braced = String.raw`\{\{\s*(${place})\s*\}\}`;

/** Every `{{place}}` of a template. */
export const placesInTemplate = new RegExp(braced, "g");

/** A whole template: each of its `{{` begins a place. */
export const eventTemplate = new RegExp(String.raw`^(?:(?!\{\{)[\s\S]|${braced})*$`);
