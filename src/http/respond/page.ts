import { html, raw } from 'hono/html'
import type { HtmlEscapedString } from 'hono/utils/html'

/** The status of a page, further headers, and where the browser goes next. */
interface PageOptions {
  readonly status?: number
  readonly headers: HeadersInit
  readonly returnTo?: string
}

/**
 * Returns a page for a person without a key of this edge in the browser: nothing else may be loaded into it, nor may it be
 * shown within another page, and its address, which may be a secret, is not passed on.
 */
export async function pageResponse(
  title: string,
  body: HtmlEscapedString | Promise<HtmlEscapedString>,
  { status = 200, headers: others, returnTo }: PageOptions,
): Promise<Response> {
  const nonce = crypto.randomUUID()
  const page = await html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width" />
        ${returnTo === undefined ? '' : html`<meta http-equiv="refresh" content="0;url=${returnTo}" />`}
        <title>${title}</title>
        <style nonce="${nonce}">
          ${raw(STYLE)}
        </style>
      </head>
      <body>
        <main>${body}</main>
      </body>
    </html> `
  const headers = new Headers(others)
  const policy = `default-src 'none'; style-src 'nonce-${nonce}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`
  headers.set('content-security-policy', policy)
  headers.set('x-frame-options', 'DENY')
  headers.set('cache-control', 'no-store')
  // The address may have a code, which no other site may see.
  headers.set('referrer-policy', 'no-referrer')
  headers.set('x-content-type-options', 'nosniff')
  headers.set('content-type', 'text/html; charset=utf-8')
  return new Response(page.toString(), { status, headers })
}

/** The colours and measures of the studio. */
const STYLE = `:root { color-scheme: light dark; font: 0.8125rem/1.25rem system-ui, sans-serif; }
body { margin: 0; min-height: 100vh; display: grid; place-content: center; background: light-dark(#fafaf9, #101110);
  color: light-dark(#191917, #eeeeeb); }
main { box-sizing: border-box; width: min(26rem, calc(100vw - 2rem)); padding: 1.5rem; border-radius: 10px;
  border: 1px solid light-dark(#e5e5e1, #323532); background: light-dark(#ffffff, #171817); overflow-wrap: anywhere; }
h1 { margin: 0; font-size: 1rem; line-height: 1.5rem; font-weight: 600; }
dl { display: grid; grid-template-columns: auto 1fr; gap: 0.25rem 0.75rem; }
dt, .dim { color: light-dark(#51514c, #b9bab4); }
dd { margin: 0; }
.note { padding: 0.5rem 0.75rem; border-radius: 6px; background: light-dark(#fceae7, #3b1b17);
  color: light-dark(#ab2415, #ff9788); }
.warning { background: light-dark(#fcf2da, #33290f); color: light-dark(#7d5500, #f0c562); }
fieldset { margin: 1rem 0; padding: 0; border: 0; }
legend, form > label { display: block; padding: 0; margin-bottom: 0.25rem; font-weight: 500; }
.check { display: flex; gap: 0.5rem; padding: 0.25rem 0; }
code { font-size: 0.75rem; color: light-dark(#666660, #9b9c96); }
pre { margin: 0; padding: 0.5rem 0.75rem; border-radius: 6px; white-space: pre-wrap; font-size: 0.75rem;
  background: light-dark(#f1f1ee, #222422); }
input:not([type='checkbox']) { box-sizing: border-box; width: 100%; padding: 0.5rem; border-radius: 6px; font: inherit;
  border: 1px solid light-dark(#8a8a83, #73766f); background: inherit; color: inherit; }
.bar { display: flex; gap: 0.5rem; }
button { padding: 0.375rem 0.75rem; border-radius: 6px; border: 1px solid light-dark(#8a8a83, #73766f);
  background: none; color: inherit; font: inherit; font-weight: 500; cursor: pointer; }
button.solid { border-color: light-dark(#1f1f1d, #ecece8); background: light-dark(#1f1f1d, #ecece8);
  color: light-dark(#ffffff, #141513); }
:focus-visible { outline: 2px solid light-dark(#1d5fe0, #82b1ff); outline-offset: 2px; }`
