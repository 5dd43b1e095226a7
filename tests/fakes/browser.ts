/** A browser as far as signing in needs one: cookies, forms, and no redirect that a test has not asked for. */
export interface Browser {
  open(address: string): Promise<Page>;
  /** Presses the page's only button. */
  submit(page: Page): Promise<Page>;
}

export interface Page {
  address: string;
  status: number;
  text: string;
  headers: Headers;
  /** Where it sends the browser. */
  location: string | undefined;
}

export function createBrowser(): Browser {
  const cookies = new Map<string, string>();
  const load = async (address: string, init: RequestInit = {}): Promise<Page> => {
    const headers = new Headers(init.headers);
    headers.set("cookie", [...cookies].map(([name, value]) => `${name}=${value}`).join("; "));
    const response = await fetch(address, { ...init, headers, redirect: "manual" });
    for (const cookie of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(cookie) ?? [];
      cookies.set(name, value);
    }
    const location = response.headers.get("location") ?? undefined;
    return {
      address,
      status: response.status,
      text: await response.text(),
      headers: response.headers,
      location,
    };
  };
  return {
    open: (address) => load(address),
    async submit({ address, text }) {
      const action = /<form method="post" action="([^"]+)">/.exec(text)?.[1];
      if (action === undefined) throw new Error(`There is no form on the page: ${text}`);
      const { origin } = new URL(address);
      return await load(new URL(action, address).href, { method: "POST", headers: { origin } });
    },
  };
}

/** The code that a page shows. */
export function codeOn({ text }: Page): string {
  const code = /<code>([A-Z0-9]{4}-[A-Z0-9]{4})<\/code>/.exec(text)?.[1];
  if (code === undefined) throw new Error(`The page shows no code: ${text}`);
  return code;
}
