/** What the audit calls things: [English, Chinese]. Only its page needs them. */
import type { Language } from ".";

type Pairs = Readonly<Record<string, readonly [string, string]>>;

export const KINDS: Pairs = {
  "audit.anchor": ["Chain anchored", "链已锚定"],
  "audit.trimmed": ["Old rows deleted", "清理旧记录"],
  "auth.locked": ["Sign-in blocked", "暂停登录"],
  "auth.login": ["Signed in", "登录"],
  "auth.logout": ["Signed out", "退出登录"],
  "auth.refused": ["Access denied", "拒绝进入"],
  "call.decided": ["Call decided", "调用判定"],
  "call.finished": ["Call finished", "调用结束"],
  "checkpoint.restored": ["Changes reverted", "撤回更改"],
  "confirmation.answered": ["Confirmation answered", "确认答复"],
  "confirmation.asked": ["Confirmation requested", "请求确认"],
  "confirmation.vote": ["One of several approvals", "多人批准之一"],
  "desktop.cancelled": ["Desktop task cancelled", "桌面任务取消"],
  "desktop.created": ["Desktop task created", "桌面任务创建"],
  "desktop.failed": ["Desktop task failed", "桌面任务失败"],
  "desktop.returned": ["Desktop task returned", "桌面任务退回"],
  "escalation.asked": ["Escalated to a supervisor", "询问上级智能体"],
  "escalation.handed_over": ["Escalated to a stronger model", "交给更强的模型"],
  "forum.post": ["Posts deleted", "移除帖子"],
  "governance.agent": ["Agent changed", "更改智能体"],
  "governance.approval_policy": ["Approval policy changed", "更改审批策略"],
  "governance.approver_group": ["Approver group changed", "更改审批组"],
  "governance.channel": ["Channel changed", "更改渠道"],
  "governance.grant": ["Grant changed", "更改授权"],
  "governance.plugins": ["Plugins reloaded", "重新加载插件"],
  "governance.project": ["Project changed", "更改项目"],
  "governance.rule": ["Rule changed", "更改规则"],
  "governance.rule_proposal": ["Proposed rule", "规则提案"],
  "governance.skill": ["Skill changed", "更改技能"],
  "governance.source": ["Data source changed", "更改数据源"],
  "governance.substitution": ["Substitute changed", "更改代理审批人"],
  "governance.tool": ["Tool changed", "更改工具"],
  "governance.toolset": ["Toolset changed", "更改工具集"],
  "governance.trigger": ["Trigger changed", "更改触发器"],
  "governance.webhook": ["Webhook changed", "更改 Webhook"],
  "hook.failed": ["Hook failed", "钩子失败"],
  "installation.restored": ["Backup restored", "恢复备份"],
  "limit.hit": ["Limit reached", "达到限额"],
  "memory.changed": ["Memory changed", "更改记忆"],
  "memory.exported": ["Memories exported", "导出记忆"],
  "memory.forgotten": ["Memories deleted", "忘记记忆"],
  "memory.imported": ["Memories imported", "导入记忆"],
  "memory.undone": ["Memories reverted", "撤回记忆"],
  "question.answered": ["Question answered", "问题答复"],
  "question.asked": ["Question asked", "提出问题"],
  "service.conditions": ["Service status", "服务状态"],
  schedule: ["Schedule changed", "更改定时任务"],
  "sql.query": ["Database query", "查询数据库"],
  "sql.trimmed": ["Old queries deleted", "清理旧查询"],
  "ticket.answered": ["Ticket answered", "工单答复"],
  "ticket.closed": ["Ticket closed", "工单关闭"],
  "ticket.opened": ["Ticket opened", "工单创建"],
  "token.created": ["Token created", "创建令牌"],
  "token.revoked": ["Token revoked", "撤销令牌"],
  "token.rotated": ["Token rotated", "更换令牌"],
  "webhook.accepted": ["Webhook received", "接收 Webhook"],
};

export const OUTCOMES: Pairs = {
  answered: ["Answered", "已答复"],
  approved: ["Approved", "已批准"],
  begun: ["Started", "已开始"],
  changed: ["Changed", "已更改"],
  created: ["Created", "已创建"],
  deleted: ["Deleted", "已删除"],
  removed: ["Removed", "已移除"],
  revoked: ["Revoked", "已撤销"],
  rotated: ["Rotated", "已更换"],
  paused: ["Paused", "已暂停"],
  resumed: ["Resumed", "已恢复"],
};

/** The word in the reader's language; null for what is not known. */
export function auditWord(pairs: Pairs, language: Language, value: string): string | null {
  const pair = Object.hasOwn(pairs, value) ? pairs[value] : undefined;
  return pair === undefined ? null : pair[language === "zh" ? 1 : 0];
}
