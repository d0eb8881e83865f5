import { emailTrigger } from 'edgecall'
import { expect, test } from 'vitest'
import { MAIL_RULES } from '../../src/cli/document/mail-rules.ts'

/** What the platform has found of the author, where an example says nothing of it. */
const PASS = 'Authentication-Results: mx.cloudflare.net; dmarc=pass header.from=example.com'

async function read(lines: readonly string[]): Promise<unknown> {
  const trigger = emailTrigger({
    ...{ as: 'desk', to: ['desk@acme.test'], from: ['@example.com', 'desk@acme.test', 'answers@acme.test'] },
    reply: { binding: 'MAIL', from: 'answers@acme.test' },
    start: () => ({ run: { input: 'x' } }),
  })
  if (trigger.on !== 'email') return expect.unreachable()
  const stamp = lines.some((line) => line.startsWith('Authentication-Results:')) ? [] : [PASS]
  const raw = Uint8Array.from(Buffer.from([...stamp, ...lines, '', 'Hello'].join('\r\n')))
  const envelope = { from: 'bounces@example.com', to: 'desk@acme.test', rawSize: raw.length }
  return trigger.read({ ...envelope, raw: new Blob([raw]).stream(), setReject: () => {} }, raw)
}

test.each(MAIL_RULES.map((rule) => [rule.mail, rule] as const))(
  'the page on events is right about %s',
  async (_, { examples, code, isTold }) => {
    for (const lines of examples)
      expect(await read(lines), lines.join()).toMatchObject({ refusal: isTold ? 'rejected' : 'ignored', code })
  },
)

test('a mail of a person starts a run', async () => {
  expect(await read(['From: Ann <ann@example.com>', 'Subject: Order 7'])).toMatchObject({
    from: 'ann@example.com',
    text: 'Hello',
  })
})
