import { AT_EDGE, type Command, command } from './command/command.ts'
import { remote } from './command/remote.ts'

/** A command that copies conversations between an edge and a folder. */
function backupCommand(name: 'backup' | 'restore', summary: string): Command {
  return command({
    name,
    summary,
    arguments: { folder: { text: 'the folder of the copies, a file for each conversation' } },
    options: {
      ...AT_EDGE,
      conversation: { type: 'string', value: 'id', text: 'only this conversation; default: all of the key’s tenant' },
    },
    run: async (invocation) => {
      const { backUp, restore } = await import('./backup.ts')
      const work = name === 'backup' ? backUp : restore
      const { options, arguments: names } = invocation
      await work({ ...(await remote(invocation, options.url)), ...names, conversation: options.conversation })
    },
  })
}

/** The commands that copy conversations and take them back in time. */
export const BACKUP_COMMANDS: readonly Command[] = [
  backupCommand('backup', 'copy the conversations of the key’s tenant into a folder'),
  backupCommand('restore', 'make conversations of the copies in a folder; those that exist are left as they are'),
  command({
    name: 'rewind',
    summary: 'take a conversation back to an earlier time, of the last 30 days',
    arguments: {
      conversation: { text: 'the id of the conversation' },
      time: { text: 'such as 2026-02-28T14:30:00Z' },
    },
    options: AT_EDGE,
    run: async (invocation) => {
      const { rewind } = await import('./backup.ts')
      await rewind({ ...(await remote(invocation, invocation.options.url)), ...invocation.arguments })
    },
  }),
]
