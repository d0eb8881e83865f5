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

const survivors = MUTATIONS.filter(({ control }) => control.includes(word)).filter((mutation) => {
  const isCaught = !passes(mutation)
  console.log(`${isCaught ? 'caught  ' : 'SURVIVES'} ${mutation.control} (${mutation.test})`)
  return !isCaught
})
process.exit(survivors.length === 0 ? 0 : 1)

/** Whether the test passes without the control. */
function passes({ file, text, replacement, test }: Mutation): boolean {
  const path = join(ROOT, 'src', file)
  const original = readFileSync(path, 'utf8')
  try {
    writeFileSync(
      path,
      original.replace(text, () => replacement),
    )
    const { status } = spawnSync(join(ROOT, 'node_modules/.bin/vitest'), ['run', `test/${test}`], { cwd: ROOT })
    return status === 0
  } finally {
    writeFileSync(path, original)
  }
}
