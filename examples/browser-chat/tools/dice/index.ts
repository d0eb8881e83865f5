import * as v from 'valibot'
import { defineTool, serveTools } from 'edgecall/tool'

const roll = defineTool({
  name: 'rollDice',
  description: 'Rolls dice and tells what each shows. Use it whenever chance must decide.',
  input: v.object({ dice: v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(100)) }),
  run: ({ dice }) => ({ rolls: Array.from({ length: dice }, () => 1 + Math.floor(Math.random() * 6)) }),
})

const bet = defineTool({
  name: 'placeBet',
  description: 'Bets an amount on a number of a die. Use it when someone has named both.',
  input: v.object({ amount: v.pipe(v.number(), v.minValue(1)), number: v.pipe(v.number(), v.integer()) }),
  approval: 'always',
  run: ({ amount, number }) => `Bet ${amount} on ${number}.`,
})

export default serveTools(roll, bet)
