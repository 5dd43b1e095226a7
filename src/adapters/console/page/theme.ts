/** Light, dark, or as the system has it. A plain script before the page is drawn, so that it never flashes. */
{
  const key = "heddle appearance";
  const show = (choice: string) => {
    if (choice === "light" || choice === "dark") document.documentElement.dataset.theme = choice;
    else delete document.documentElement.dataset.theme;
  };
  // Where a browser keeps nothing, the choice lasts as long as the page.
  const load = () => {
    try {
      return localStorage.getItem(key) ?? "system";
    } catch {
      return "system";
    }
  };
  const store = (choice: string) => {
    try {
      localStorage.setItem(key, choice);
    } catch {
      // As above.
    }
  };
  show(load());
  document.addEventListener("DOMContentLoaded", () => {
    const chosen = document.documentElement.dataset.theme ?? "system";
    for (const input of document.querySelectorAll<HTMLInputElement>("#appearance input")) {
      input.checked = input.value === chosen;
      input.addEventListener("change", () => {
        show(input.value);
        store(input.value);
      });
    }
  });
}
