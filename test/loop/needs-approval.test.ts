import { expect, test } from 'vitest'
import type { Approval } from '../../src/contract/tool-definition.ts'
import { needsApproval } from '../../src/loop/decide/admit.ts'

const sites: Approval = { unless: { '/url': { like: ['https://*.acme.com/*'] } } }
const small: Approval = { unless: { '/amount': { minimum: 0, maximum: 100 }, '/to': { like: ['*@acme.com'] } } }

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
