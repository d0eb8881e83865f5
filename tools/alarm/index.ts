import { serveTools } from 'edgecall/tool'
import { cancelAlarm, listAlarms, setAlarm } from './tools.ts'

export { Alarms } from './alarms.ts'
export default serveTools(setAlarm, listAlarms, cancelAlarm)
