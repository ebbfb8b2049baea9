// StatementUse: a prepared statement while it is used; afterwards it holds no lock and no text.
#pragma once

#include <SQLiteCpp/Statement.h>

namespace kw::sqlite {

class StatementUse {
 public:
  explicit StatementUse(SQLite::Statement& statement) : statement_(statement) { statement.reset(); }
  StatementUse(const StatementUse&) = delete;
  ~StatementUse() {
    statement_.tryReset();
    try {
      statement_.clearBindings();
    } catch (...) {  // nothing that would matter: the next use binds anew
    }
  }

 private:
  SQLite::Statement& statement_;
};

}  // namespace kw::sqlite
