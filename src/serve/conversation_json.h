// JSON of conversations: reads their requests, where every error names its field, and writes their answers.
#pragma once

#include <boost/json/object.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "loop/refine/conversations.h"
#include "serve/conversation_rows.h"
#include "serve/evaluation.h"
#include "serve/task_catalogue.h"
#include "types/reward.h"
#include "types/verdict.h"

namespace kw::service {

// The settings of one conversation, as its request states them and the store keeps them.
struct ConversationSettings {
  refine::Settings loop;        // turns, target, trust, prompt style with its system prompt
  RewardTerms reward;           // its min_trust is that of the stop rule as well
  boost::json::object options;  // of judging
};

struct ConversationRequest {
  std::string id;
  KnownTaskPtr task;
  ConversationSettings settings;
  std::string text;    // JSON of the settings
  std::string digest;  // equal for equal requests
};

struct TurnRequest {
  std::size_t turn = 0;
  std::string completion;
  std::string finish_reason;
  double wait_s = 0;
};

// POST /v1/conversations. Unknown fields are refused; a missing id is made. `gradients`: they are judged
// where the options do not say.
Answered<ConversationRequest> read_conversation(boost::json::object fields, const FindTask& find_task,
                                                bool gradients);
// The stored settings, which read_conversation has checked.
Answered<ConversationSettings> read_settings(const boost::json::object& fields);

// POST /v1/conversations/ID/turns.
Answered<TurnRequest> read_turn(const boost::json::object& fields, double longest_wait_s);

// A prompt style's word, "wrapper" without one. An error lists the words.
Answered<refine::PromptStyle> read_prompt_style(const std::optional<std::string>& word);

// The fields of a verdict that a conversation keeps and its answers contain.
boost::json::object short_verdict(const Verdict& verdict);

boost::json::array messages_json(const std::vector<Message>& messages);

// A stored conversation with its task and settings.
struct LoadedConversation {
  ConversationRow row;
  KnownTaskPtr task;
  ConversationSettings settings;

  static Answered<LoadedConversation> of(ConversationRow row);
  // As the loop has it. Verdicts have only the fields of the short form.
  refine::OpenTrace trace() const;
};

// The state of a conversation, and the messages since the last turn in `observation`.
boost::json::object conversation_json(const LoadedConversation& conversation);
// With all messages and the history of its turns.
boost::json::object whole_conversation_json(const LoadedConversation& conversation);
// With the result of that turn. A turn that is not there was not judged.
boost::json::object turn_json(const LoadedConversation& conversation, std::size_t turn);

}  // namespace kw::service
