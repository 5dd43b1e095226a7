/*
 * Runs in the page: every visible text whose contrast with what is behind it is less than WCAG 2.2 AA asks for, 4.5 to 1,
 * or 3 to 1 from 24 px (18.66 px where it is bold). Controls that are switched off are exempt, as they are there.
 */
(() => {
  /** Parts of 0 to 255. */
  type Rgb = readonly [red: number, green: number, blue: number];
  interface Color {
    rgb: Rgb;
    /** 0 to 1. */
    alpha: number;
  }

  const canvas = Object.assign(document.createElement("canvas"), { width: 1, height: 1 });
  const context = canvas.getContext("2d", { willReadFrequently: true });
  if (!context) throw new Error("This browser draws on no canvas.");
  const known = new Map<string, Color>();
  const parse = (text: string): Color => {
    context.clearRect(0, 0, 1, 1);
    context.fillStyle = text;
    context.fillRect(0, 0, 1, 1);
    const [red = 0, green = 0, blue = 0, alpha = 0] = context.getImageData(0, 0, 1, 1).data;
    return { rgb: [red, green, blue], alpha: alpha / 255 };
  };
  const colorOf = (text: string): Color => {
    const color = known.get(text) ?? parse(text);
    known.set(text, color);
    return color;
  };
  const over = ({ rgb: [r, g, b], alpha }: Color, [red, green, blue]: Rgb): Rgb => {
    const mix = (upper: number, lower: number) => upper * alpha + lower * (1 - alpha);
    return [mix(r, red), mix(g, green), mix(b, blue)];
  };
  const luminance = (rgb: Rgb): number => {
    const linear = (part: number) => {
      const c = part / 255;
      return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
    };
    return 0.2126 * linear(rgb[0]) + 0.7152 * linear(rgb[1]) + 0.0722 * linear(rgb[2]);
  };
  const behind = (node: Element | null): Rgb => {
    if (!node) return [255, 255, 255];
    return over(colorOf(getComputedStyle(node).backgroundColor), behind(node.parentElement));
  };
  const opacity = (node: Element | null): number =>
    node ? Number(getComputedStyle(node).opacity) * opacity(node.parentElement) : 1;

  const poor = new Map<string, string>();
  const look = (node: Element, style: CSSStyleDeclaration, text: string): void => {
    if (node.closest(":disabled, .unseen, [inert]") || !node.checkVisibility({ visibilityProperty: true }))
      return;
    const ground = behind(node);
    const { rgb, alpha } = colorOf(node instanceof SVGElement ? style.fill : style.color);
    const front = luminance(over({ rgb, alpha: alpha * opacity(node) }, ground));
    const back = luminance(ground);
    const ratio = (Math.max(front, back) + 0.05) / (Math.min(front, back) + 0.05);
    const size = Number.parseFloat(style.fontSize);
    const isLarge = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    if (ratio < (isLarge ? 3 : 4.5))
      poor.set(`${text.trim().slice(0, 40)} (${node.getAttribute("class") ?? ""})`, ratio.toFixed(2));
  };
  const unpainted = ["SCRIPT", "NOSCRIPT", "TITLE", "title", "OPTION"];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const { parentElement: node, nodeValue: text } = walker.currentNode;
    if (node && text?.trim() && !unpainted.includes(node.nodeName)) look(node, getComputedStyle(node), text);
  }
  for (const box of document.querySelectorAll<HTMLInputElement>("[placeholder]"))
    look(box, getComputedStyle(box, "::placeholder"), box.placeholder);
  for (const select of document.querySelectorAll("select"))
    look(select, getComputedStyle(select), select.value);
  return Object.fromEntries(poor);
})();
