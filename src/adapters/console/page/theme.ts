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
  show(load());
  document.addEventListener("DOMContentLoaded", () => {
    const select = document.querySelector<HTMLSelectElement>("select#appearance");
    if (!select) return;
    select.value = document.documentElement.dataset.theme ?? "system";
    select.addEventListener("change", () => {
      show(select.value);
      try {
        localStorage.setItem(key, select.value);
      } catch {
        // As above.
      }
    });
  });
}
