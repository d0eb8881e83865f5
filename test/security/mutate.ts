import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Mutation, MUTATIONS } from './mutations.ts'

/**
 * `npm run test:mutations` takes away each control in turn and runs the test that must then fail. It changes files
 * of `src` and changes them back. `npm run test:mutations -- quota` tries those with this word in their names alone.
 */
const ROOT = new URL('../..', import.meta.url).pathname
const [word = ''] = process.argv.slice(2)

const mutations = MUTATIONS.filter(({ control }) => control.includes(word))
if (mutations.length === 0) throw new Error(`No control has "${word}" in its name.`)
const tests = [...new Set(mutations.map(({ test }) => `test/${test}`))]
// A test that fails anyway would catch everything.
if (!pass(tests)) throw new Error('Some of the tests fail without any mutation.')

const survivors = mutations.filter((mutation) => {
  const isCaught = !passesWithout(mutation)
  console.log(`${isCaught ? 'caught  ' : 'SURVIVES'} ${mutation.control} (${mutation.test})`)
  return !isCaught
})
process.exit(survivors.length === 0 ? 0 : 1)

/** Whether these tests pass: those that `npm test` runs, and those that only `npm run test:kit` does. */
function pass(files: readonly string[], ...options: readonly string[]): boolean {
  const args = ['run', '--passWithNoTests', ...options, ...files]
  return ['', '1'].every((slow) => {
    const env = { ...process.env, SLOW: slow }
    return spawnSync(join(ROOT, 'node_modules/.bin/vitest'), args, { cwd: ROOT, env }).status === 0
  })
}

/** Whether the test passes without the control. */
function passesWithout({ file, text, replacement, test }: Mutation): boolean {
  const path = join(ROOT, 'src', file)
  const original = readFileSync(path, 'utf8')
  try {
    writeFileSync(
      path,
      original.replace(text, () => replacement),
    )
    // Without a control, a test may wait for what never comes.
    return pass([`test/${test}`], '--bail=1', '--testTimeout=60000')
  } finally {
    writeFileSync(path, original)
  }
}
