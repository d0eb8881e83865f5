import type { Hook } from '../contract/hook.ts'
import type { RunRequest } from '../contract/run.ts'
import { mayCall, type Tool } from '../contract/tool.ts'
import { RUN_CODE } from '../contract/program.ts'
import { type ProgramTool, runCodeTool } from './run-code.ts'
import type { CodeLoader } from './sandbox.ts'

/**
 * Makes the hook that offers `run_code` to models, beside the tools (`code: "also"`) or in place of those that programs can
 * call (`only`). A run whose caller executes its calls has no programs. Without a loader, runs that ask for programs are
 * refused.
 */
export function codeHook(loader: CodeLoader | undefined): Hook {
  const cache = new WeakMap<object, { readonly key: string; readonly tool: Promise<Tool> }>()
  return {
    name: 'codeMode',
    accept: (run) => (loader || isOff(run) ? run : NO_LOADER),
    activate: (names, { run, offered }) => {
      if (!loader || isOff(run) || run.execution === 'caller') return names
      const callers: readonly ProgramTool[] = run.clientTools.map((tool) => ({ ...tool, hash: '' }))
      const tools = [...[...offered.values()].filter((tool) => mayCall(tool, 'program')), ...callers]
      if (tools.length === 0) return names
      const key = tools.map(({ name, hash }) => `${name} ${hash}`).join('\n')
      const cached = cache.get(offered)
      const tool = cached?.key === key ? cached.tool : runCodeTool(loader, tools)
      if (cached?.key !== key) cache.set(offered, { key, tool })
      const inPrograms = new Set(tools.map(({ name }) => name))
      const others = names.filter((name) => name !== RUN_CODE && (run.code === 'also' || !inPrograms.has(name)))
      return tool.then((runCode) => [runCode, ...others])
    },
  }
}

const NO_LOADER = 'This edge runs no programs (`code`): it lacks the binding LOADER.'

function isOff({ code = 'off' }: Pick<RunRequest, 'code'>): boolean {
  return code === 'off'
}
