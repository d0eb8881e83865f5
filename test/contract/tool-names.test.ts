import { expect, test } from 'vitest'
import { foreignNames, operatorNames, selectsTool, wireName } from '../../src/contract/tool-names.ts'

const long = `files.${'read.'.repeat(20)}all`

test.each([
  [{ name: 'pay' }, ['pay'], []],
  [{ name: 'files_x2e_delete' }, ['files_x2e_delete', 'files.delete'], []],
  [{ name: wireName(long), ownName: long }, [wireName(long), long], []],
  [{ name: wireName(long), ownName: 'other' }, [wireName(long)], ['other']],
  [
    { name: 'acme_files_x2e_delete', ownName: 'files.delete' },
    ['acme_files_x2e_delete', 'acme_files.delete'],
    ['files.delete', 'files_x2e_delete'],
  ],
  [{ name: 'files_x2e_delete', ownName: 'files.delete' }, ['files_x2e_delete', 'files.delete'], []],
])('the names of %j', (tool, names, foreign) => {
  expect([operatorNames(tool), foreignNames(tool)]).toEqual([names, foreign])
})

test.each<[string, string, boolean]>([
  ['*', 'pay', true],
  ['files.delete', 'files_x2e_delete', true],
  ['files_x2e_delete', 'files_x2e_delete', true],
  ['files.*', 'files_x2e_delete', true],
  ['files.read', 'files_x2e_delete', false],
  ['*,!files.*', 'files_x2e_delete', false],
  ['*,!files.*', 'pay', true],
  ['!pay', 'pay', false],
  ['!pay', 'card', true],
  ['!pay,card', 'other', false],
  ['pay,!pay', 'pay', false],
])('the list %s selects %s: %s', (list, name, isSelected) => {
  expect(selectsTool(list.split(','), { name })).toBe(isSelected)
})

test('an exclusion counts by the name that the tool has on its server', () => {
  const tool = { name: 'acme_delete', ownName: 'files.delete' }
  expect([selectsTool(['*', '!files.*'], tool), selectsTool(['files.*'], tool)]).toEqual([false, false])
})
