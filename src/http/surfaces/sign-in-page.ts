import type { ConsentDescription } from '@cloudflare/workers-oauth-provider'
import { html } from 'hono/html'
import { withoutHidden } from '../../contract/hidden-characters.ts'
import { pageResponse } from '../respond/page.ts'

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
