import { html } from 'hono/html'
import { visible } from '../contract/hidden-characters.ts'
import type { PendingApproval } from '../contract/conversation.ts'
import type { Caller } from '../contract/tool.ts'
import { pageResponse } from '../http/respond/page.ts'

/** Returns the arguments of a call for people to read: nothing in them hides, or turns text around. */
export function readableText(value: unknown): string {
  return visible(typeof value === 'string' ? value : (JSON.stringify(value, null, 2) ?? ''))
}

/** Why a person is asked, as people are told. */
export function reasonFor({ because }: PendingApproval): string | undefined {
  if (because === 'untrusted_data')
    return 'The run has read untrusted and private data, which this call may send to the outside.'
  return undefined
}

/** Returns the page on which a person approves or rejects a call, all of which it shows. */
export function askPage(approval: PendingApproval, person: Caller): Promise<Response> {
  const { tool, definition, arguments: args, caller, path = [], program, expires } = approval
  const reason = reasonFor(approval)
  const rows: readonly (readonly [string, string | undefined])[] = [
    ['Tool', definition?.title === undefined ? tool : `${definition.title} (${tool})`],
    ['What it does', definition?.description],
    ['Asked for by', caller.key ?? caller.tenant],
    ['For the agent', path.length > 0 ? path.map(({ agent }) => agent).join(' › ') : undefined],
    ['Because', reason],
    ['You decide as', person.key],
    ['Until', new Date(expires).toUTCString()],
  ]
  const body = html`<h1>Shall ${visible(tool)} be called?</h1>
    <dl>
      ${rows.map(([name, value]) =>
        value === undefined
          ? ''
          : html`<dt>${name}</dt>
              <dd>${visible(value)}</dd>`,
      )}
    </dl>
    <p class="dim">The arguments, all of them:</p>
    <pre>${readableText(args)}</pre>
    ${
      program === undefined
        ? ''
        : html`<p class="dim">The program that makes the call:</p>
            <pre>${visible(program)}</pre>`
    }
    <form method="post">
      <label for="reason">Reason, which the model is told if you reject the call</label>
      <input id="reason" name="reason" maxlength="1000" autocomplete="off" />
      <div class="bar">
        <button class="solid" name="decision" value="approve">Approve</button>
        <button name="decision" value="reject">Reject</button>
      </div>
    </form>`
  return pageResponse('Approval', body, { headers: {} })
}

/** Returns a page that says what became of a decision. */
export function verdictPage(title: string, text: string, status: number): Promise<Response> {
  const body = html`<h1>${title}</h1>
    <p>${text === '' ? 'You can close this page.' : text}</p>`
  return pageResponse('Approval', body, { status, headers: {} })
}
