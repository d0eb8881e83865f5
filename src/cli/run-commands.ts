import { AT_EDGE, type Command, command } from './command/command.ts'
import { remote } from './command/remote.ts'

/** A command of `runs`, which changes one run of a conversation. */
function runsCommand(action: 'retry' | 'cancel', summary: string): Command {
  return command({
    name: `runs ${action}`,
    summary,
    arguments: { conversation: { text: 'the id of the conversation' }, run: { text: 'the id of the run' } },
    options: AT_EDGE,
    run: async ({ root, env, arguments: { conversation, run }, options: { url } }) => {
      const { changeRun } = await import('./runs.ts')
      await changeRun({ root, env, url, action, conversation, run })
    },
  })
}

/** The commands about runs that others wait for: their approvals, retries and ends. */
export const RUN_COMMANDS: readonly Command[] = [
  command({
    name: 'approvals',
    summary: 'list the calls that wait for approval, each with the program that makes it',
    arguments: {},
    options: AT_EDGE,
    run: async (invocation) => {
      const { printApprovals } = await import('./runs.ts')
      const { edge, terminal } = await remote(invocation, invocation.options.url)
      await printApprovals(edge, terminal)
    },
  }),
  runsCommand('retry', 'resume a parked run'),
  runsCommand('cancel', 'cancel a run that has not ended'),
]
