/** What is used of a tree: Node's types have none of a browser's, and the parser's own name no members. */

export interface DomNode {
  readonly nodeName: string;
  readonly parentNode: DomNode | null;
  readonly firstChild: DomNode | null;
  readonly childNodes: Iterable<DomNode>;
  readonly textContent: string | null;
}

export interface DomElement extends DomNode {
  readonly tagName: string;
  readonly children: Iterable<DomElement> & { readonly length: number };
  getAttribute(name: string): string | null;
  setAttribute(name: string, value: string): void;
  removeAttribute(name: string): void;
  remove(): void;
  after(text: string): void;
  replaceChildren(child: DomElement | string): void;
  querySelector(selector: string): DomElement | null;
  querySelectorAll(selector: string): Iterable<DomElement>;
}

export interface DomDocument extends DomElement {
  readonly body: DomElement;
  readonly documentElement: DomElement | null;
}
