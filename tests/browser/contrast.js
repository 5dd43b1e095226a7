/*
 * Runs in the page: every visible text whose contrast with what is behind it is less than WCAG 2.2 AA asks for, 4.5 to 1,
 * or 3 to 1 from 24 px (18.66 px where it is bold). Controls that are switched off are exempt, as they are there.
 */
(() => {
  const canvas = Object.assign(document.createElement("canvas"), { width: 1, height: 1 });
  const context = canvas.getContext("2d", { willReadFrequently: true });
  const known = new Map();
  const colour = (text) => {
    if (!known.has(text)) {
      context.clearRect(0, 0, 1, 1);
      context.fillStyle = text;
      context.fillRect(0, 0, 1, 1);
      const [red, green, blue, alpha] = context.getImageData(0, 0, 1, 1).data;
      known.set(text, [red, green, blue, alpha / 255]);
    }
    return known.get(text);
  };
  const over = ([r, g, b, a], under) => [r, g, b].map((part, i) => part * a + under[i] * (1 - a));
  const luminance = (rgb) => {
    const [r, g, b] = rgb.map((part) => {
      const c = part / 255;
      return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (node) => {
    if (!node) return [255, 255, 255];
    return over(colour(getComputedStyle(node).backgroundColor), behind(node.parentElement));
  };
  const opacity = (node) => (node ? Number(getComputedStyle(node).opacity) * opacity(node.parentElement) : 1);

  const poor = new Map();
  const look = (node, style, text) => {
    if (node.closest(":disabled, .unseen, [inert]") || !node.checkVisibility({ visibilityProperty: true }))
      return;
    const ground = behind(node);
    const [r, g, b, a] = colour(node instanceof SVGElement ? style.fill : style.color);
    const [light, dark] = [luminance(over([r, g, b, a * opacity(node)], ground)), luminance(ground)].toSorted(
      (one, other) => other - one,
    );
    const ratio = (light + 0.05) / (dark + 0.05);
    const size = Number.parseFloat(style.fontSize);
    const isLarge = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    if (ratio < (isLarge ? 3 : 4.5))
      poor.set(`${text.trim().slice(0, 40)} (${node.className})`, ratio.toFixed(2));
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode.parentElement;
    if (
      walker.currentNode.data.trim() &&
      !["SCRIPT", "NOSCRIPT", "TITLE", "title", "OPTION"].includes(node.nodeName)
    )
      look(node, getComputedStyle(node), walker.currentNode.data);
  }
  for (const box of document.querySelectorAll("[placeholder]"))
    look(box, getComputedStyle(box, "::placeholder"), box.placeholder);
  for (const select of document.querySelectorAll("select"))
    look(select, getComputedStyle(select), select.value);
  return Object.fromEntries(poor);
})();
