import { expect, test } from 'vitest'
import type { Approval } from '../../src/contract/tool-definition.ts'
import { needsApproval } from '../../src/loop/decide/admit.ts'

const sites: Approval = { unless: { '/url': { like: ['https://*.acme.com/*'] } } }
const small: Approval = { unless: { '/amount': { minimum: 0, maximum: 100 }, '/to': { like: ['*@acme.com'] } } }

const files: Approval = { unless: { '/path': { like: ['/data/*'] } } }
const pages: Approval = { unless: { '/url': { like: ['https://acme.com/docs/*'] } } }
/** Paths that lead, or may lead, elsewhere than they seem to. */
const INDIRECT = [
  ...['../etc/passwd', 'x/../../etc/passwd', '..', 'x/..', './x', 'x/./y', '.. /x', '..;/x', '..;a=b/x'],
  ...['%2e%2e/x', '.%2E/x', '%252e%252e/x', '..%2fx', '..%5Cx', 'x%2f..%2fy', '%c0%ae%c0%ae/x', '%e0%80%ae/x'],
  ...['..\\x', 'x\\..\\y', 'x\\y', '/etc/passwd', 'x//y'],
]

test.each<[Approval | undefined, object | string, boolean]>([
  [undefined, {}, false],
  ['never', {}, false],
  ['always', {}, true],
  [small, { amount: 100, to: 'a@acme.com' }, false],
  [small, { amount: 101, to: 'a@acme.com' }, true],
  [small, { amount: -1, to: 'a@acme.com' }, true],
  [small, { amount: '5', to: 'a@acme.com' }, true],
  [small, { amount: 5, to: 'a@acme.com.evil.org' }, true],
  [small, { amount: 5, to: 'a@evil.org\n@acme.com' }, true],
  [small, { amount: 5, to: 'a@evil.org\r\nBcc: b@acme.com' }, true],
  [small, { amount: 5, to: 'a@evil.org\u0000@acme.com' }, true],
  [small, { amount: 5, to: 'a@evil.org\u2028@acme.com' }, true],
  [small, { amount: 5, to: 'eve@evil.com,x@acme.com' }, true],
  [small, { amount: 5, to: 'eve@evil.com, x@acme.com' }, true],
  [small, { amount: 5, to: 'eve@evil.com;x@acme.com' }, true],
  [small, { amount: 5, to: 'eve@evil.com x@acme.com' }, true],
  [small, { amount: 5, to: '<eve@evil.com>x@acme.com' }, true],
  [small, { amount: 5, to: '"eve@evil.com" x@acme.com' }, true],
  [small, { amount: 5, to: 'eve(x)@acme.com' }, true],
  [small, { amount: 5, to: 'eve:x@acme.com' }, true],
  [small, { amount: 5, to: '@acme.com' }, true],
  [small, { amount: 5, to: 'eve@evil.com@acme.com' }, true],
  [small, { amount: 5, to: 'x@acme.com' }, false],
  [sites, { url: 'https://docs.acme.com/a/b?c=d' }, false],
  [sites, { url: 'https://evil.com/.acme.com/' }, true],
  [sites, { url: 'https://evil.com?.acme.com/' }, true],
  [sites, { url: 'https://evil.com#.acme.com/' }, true],
  [sites, { url: 'https://evil.com\\.acme.com/' }, true],
  [sites, { url: 'https://evil.com:1@docs.acme.com/' }, true],
  [sites, { url: 'https://docs.acme.com@evil.com/' }, true],
  [sites, { url: 'http://docs.acme.com/' }, true],
  [{ unless: { '/url': { like: ['https://acme.com/*'] } } }, { url: 'https://acme.com/x' }, false],
  [{ unless: { '/url': { like: ['https://acme.com/*'] } } }, { url: 'https://acme.com.evil.org/x' }, true],
  [{ unless: { '/url': { like: ['https://*'] } } }, { url: 'https://acme.com/x' }, false],
  [{ unless: { '/text': { like: ['Hello, *'] } } }, { text: 'Hello, Ann and Bob' }, false],
  [{ unless: { '/text': { like: ['Hello, *'] } } }, { text: 'Hello, Ann\nand Bob' }, true],
  ...['x', 'a/b.txt', 'a.b/..c', '...', '100% of it', 'a b', '.hidden', 'x?y=../z'].map(
    (rest): [Approval, object, boolean] => [files, { path: `/data/${rest}` }, false],
  ),
  ...INDIRECT.map((rest): [Approval, object, boolean] => [files, { path: `/data/${rest}` }, true]),
  ...INDIRECT.map((rest): [Approval, object, boolean] => [pages, { url: `https://acme.com/docs/${rest}` }, true]),
  [pages, { url: 'https://acme.com/docs/a/b?from=../c#../d' }, false],
  [pages, { url: 'https://acme.com/docs/a%20b' }, false],
  [{ unless: { '/name': { like: ['report-*'] } } }, { name: 'report-/../../etc/passwd' }, true],
  [{ unless: { '/name': { like: ['report-*'] } } }, { name: 'report-7 .. 8' }, false],
  [{ unless: { '/path': { like: ['C:\\data\\*'] } } }, { path: 'C:\\data\\a.txt' }, false],
  [{ unless: { '/path': { like: ['C:\\data\\*'] } } }, { path: 'C:\\data\\..\\a.txt' }, true],
  [
    { unless: { '/text': { like: ['See https://acme.com/* for *'] } } },
    { text: 'See https://acme.com/x for y' },
    false,
  ],
  [small, { amount: 5 }, true],
  [small, 'no JSON', true],
  [{ unless: { '/kind': { enum: ['draft', null] } } }, { kind: 'draft' }, false],
  [{ unless: { '/kind': { enum: ['draft', null] } } }, { kind: null }, false],
  [{ unless: { '/kind': { enum: ['draft'] } } }, { kind: ['draft'] }, true],
  [{ unless: { '/a/0/b~1c': { maximum: 1 } } }, { a: [{ 'b/c': 1 }] }, false],
  [{ unless: { '/__proto__': { enum: [null] } } }, {}, true],
  [{ unless: { '/to': {} } }, { to: 'anybody' }, false],
  [{ unless: { '/to': {} } }, {}, true],
  [{ unless: {} }, {}, true],
])('the calls that need approval with %j of %j: %s', (approval, args, expected) => {
  expect(needsApproval(approval, typeof args === 'string' ? args : JSON.stringify(args))).toBe(expected)
})
