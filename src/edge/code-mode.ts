import { codeHook } from '../code/hook.ts'
import type { CodeLoader } from '../code/sandbox.ts'
import { isObject } from '../contract/json.ts'
import type { Part } from './part.ts'

/**
 * Code mode: models may write programs that call tools (`run_code`), so that what the calls give need not pass through the
 * model. Off unless `CODE_MODE`, a conversation or a request says `also` or `only`. Needs the binding `LOADER`
 * (`[[worker_loaders]]`), in which programs run.
 *
 * @example createEdge({ providers: { openai: openaiFromEnv }, use: [codeMode()] })
 */
export function codeMode(): Part {
  return {
    name: 'codeMode',
    needs: ({ LOADER: loader }, { code }) =>
      code === 'off' || isLoader(loader) ? undefined : 'the binding LOADER (worker_loaders), or CODE_MODE = "off"',
    // The last hook: what the others leave out of a step, or bring into it, is seen.
    extend: ({ env: { LOADER: loader }, hooks }) => ({
      hooks: [...hooks, codeHook(isLoader(loader) ? loader : undefined)],
    }),
  }
}

function isLoader(binding: unknown): binding is CodeLoader {
  return isObject(binding) && typeof binding['load'] === 'function'
}
