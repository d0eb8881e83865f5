import type { ConsentDescription } from '@cloudflare/workers-oauth-provider'
import { html, raw } from 'hono/html'
import type { HtmlEscapedString } from 'hono/utils/html'
import { withoutHidden } from '../../contract/hidden-characters.ts'

/** What a person decides about. */
export interface ConsentForm {
  readonly client: ConsentDescription
  /** Names the request that the form answers. */
  readonly handle: string
  /** The edge that the person signs in to. */
  readonly host: string
  readonly scopes: readonly { readonly name: string; readonly isTicked: boolean }[]
  /** What was wrong with the last answer. */
  readonly message: string | undefined
}

/** The most characters of a client’s name that are shown. */
const MOST_NAME = 80

/** What a scope lets a client do, as the page tells people. */
const MEANINGS: Readonly<Record<string, string>> = {
  'tools:read': 'see the tools that the key may use',
  chat: 'call these tools',
  approve: 'pass on your approvals and answers, where a call asks a person',
}

/** Returns the page on which a person enters a key, and lets a client in or not. `headers` are those of the library. */
export function consentPage(
  { client, handle, host, scopes, message }: ConsentForm,
  headers: Headers,
): Promise<Response> {
  const name = withoutHidden(client.clientName).slice(0, MOST_NAME)
  const { clientDomain: domain, redirectUri, redirectIsLoopback: isLocal } = client
  const author = domain === undefined ? 'the app itself: nobody has verified its name' : html`<b>${domain}</b>`
  const isApp = isLocal || !redirectUri.startsWith('https:')
  const warning = 'This is an app on this computer. Continue only if you have just begun to sign in there.'
  const body = html`<h1>Let ${name} use the tools of ${host}?</h1>
    <dl>
      <dt>Published by</dt>
      <dd>${author}</dd>
      <dt>Access is sent to</dt>
      <dd><b>${placeAt(redirectUri)}</b></dd>
    </dl>
    ${isApp ? html`<p class="note warning">${warning}</p>` : ''}
    ${message === undefined ? '' : html`<p class="note" role="alert">${message}</p>`}
    <form method="post" action="/oauth/authorize">
      <input type="hidden" name="handle" value="${handle}" />
      <fieldset>
        <legend>It may</legend>
        ${scopes.map(
          (scope) =>
            html`<label class="check"
              ><input type="checkbox" name="scope" value="${scope.name}" ${scope.isTicked ? 'checked' : ''} />
              <span>${MEANINGS[scope.name] ?? 'use what needs this scope'} <code>${scope.name}</code></span></label
            >`,
        )}
      </fieldset>
      <label for="key">Your API key of this edge</label>
      <input id="key" name="key" type="password" autocomplete="current-password" spellcheck="false" autofocus />
      <p class="dim">
        The app never sees the key. Its access ends when the key is revoked, or loses one of these scopes.
      </p>
      <div class="bar">
        <button class="solid" name="decision" value="allow">Allow</button>
        <button name="decision" value="deny">Deny</button>
      </div>
    </form>`
  return pageResponse('Sign in', body, { status: message === undefined ? 200 : 422, headers })
}

/**
 * Returns the page that sends the browser back to the client. Browsers apply the policy for forms to all redirects that
 * follow one, also to those of the client, so this is not a redirect. `headers` are those of the library.
 */
export function returnPage(address: string, headers: Headers): Promise<Response> {
  const body = html`<h1>You are sent back to ${placeAt(address)}</h1>
    <p><a href="${address}">Continue</a>, if nothing happens. You can close this page then.</p>`
  headers.delete('location')
  return pageResponse('Sign in', body, { headers, returnTo: address })
}

/**
 * Returns the page for a fault of a client, with a link back to it. Anybody can register a client, so that a redirect would
 * send a person who follows a link to this edge to any address that the author of the link has chosen (RFC 9700, 4.11.2).
 */
export function faultPage(text: string, address: string): Promise<Response> {
  const body = html`<h1>The app cannot sign you in</h1>
    <p>${text}</p>
    <p><a href="${address}">Back to ${placeAt(address)}</a></p>`
  return pageResponse('Sign in', body, { status: 400, headers: {} })
}

/** Returns what people are told of an address: its host; of an app, its scheme too. */
function placeAt(address: string): string {
  const { protocol, host } = new URL(address)
  return /^https?:$/.test(protocol) ? host : `${protocol}//${host}`
}

/** Returns a page with a text alone. */
export function messagePage(text: string, status: number, headers: HeadersInit): Promise<Response> {
  const body = html`<h1>This does not work</h1>
    <p>${text}</p>`
  return pageResponse('Sign in', body, { status, headers })
}

/** A page that this file makes: its status, the headers of the library, and where the browser goes next. */
interface PageOptions {
  readonly status?: number
  readonly headers: HeadersInit
  readonly returnTo?: string
}

async function pageResponse(
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
  // The address has the code, which no other site may see.
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
input[type='password'] { box-sizing: border-box; width: 100%; padding: 0.5rem; border-radius: 6px; font: inherit;
  border: 1px solid light-dark(#8a8a83, #73766f); background: inherit; color: inherit; }
.bar { display: flex; gap: 0.5rem; }
button { padding: 0.375rem 0.75rem; border-radius: 6px; border: 1px solid light-dark(#8a8a83, #73766f);
  background: none; color: inherit; font: inherit; font-weight: 500; cursor: pointer; }
button.solid { border-color: light-dark(#1f1f1d, #ecece8); background: light-dark(#1f1f1d, #ecece8);
  color: light-dark(#ffffff, #141513); }
:focus-visible { outline: 2px solid light-dark(#1d5fe0, #82b1ff); outline-offset: 2px; }`
