# Jobs of Sidekiq for clients_jobs.sh: each writes a line of what it did to the file DONE, which no kill of the server
# loses. Loaded by workers and by what adds jobs; REDIS_PORT says where the server is.
require "sidekiq"

redis = { url: "redis://127.0.0.1:#{ENV.fetch("REDIS_PORT")}" }
Sidekiq.configure_server do |config|
  config.redis = redis
  config.options[:average_scheduled_poll_interval] = 1
end
Sidekiq.configure_client { |config| config.redis = redis }

def done(line)
  File.open(ENV.fetch("DONE"), "a") { |file| file.syswrite("#{line}\n") }
end

class Job
  include Sidekiq::Worker

  def perform(number)
    sleep 0.01
    done(number)
  end
end

class Fails
  include Sidekiq::Worker
  sidekiq_retry_in { 1 }

  def perform
    raise "not yet" unless File.exist?("#{ENV.fetch("DONE")}.tried")

    done("tried again")
  ensure
    File.write("#{ENV.fetch("DONE")}.tried", "")
  end
end
