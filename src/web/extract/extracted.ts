/** What the worker is given. */
export interface ExtractOrder {
  body: Uint8Array;
  /** Of the answer's header `content-type`, without parameters, in small letters. Empty where it says none. */
  mediaType: string;
  charset?: string;
  address: string;
  whole: boolean;
}

/** A page as text, and what is to be said of it. */
export interface Extracted {
  title?: string;
  text: string;
  remarks: string[];
}
