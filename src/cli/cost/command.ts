import { type Command, command } from '../command/command.ts'

/** The command that estimates what runs cost. */
export const COST_COMMAND: Command = command({
  name: 'cost',
  summary: 'estimate what a month of runs costs at Cloudflare, without the models',
  arguments: {},
  options: {
    runs: { type: 'string', value: 'number', text: 'runs a month, such as 1e6, the default' },
    steps: { type: 'string', value: 'number', text: 'answers of a model in each run; default: 3' },
    seconds: { type: 'string', value: 'number', text: 'how long an answer takes; default: 2' },
    unstored: { type: 'boolean', text: 'runs without a conversation' },
  },
  run: async ({ terminal, options }) => {
    const { printCost } = await import('./print.ts')
    printCost({ terminal, ...options })
  },
})
